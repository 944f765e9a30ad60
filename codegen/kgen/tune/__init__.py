"""`kgen tune`: measure schedules on a device, and record the fastest in tuning files."""
