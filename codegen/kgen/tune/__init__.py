"""`kgen tune`: schedules measured on a device, and the tuning files that record the fastest."""
