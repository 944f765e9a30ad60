"""What both emulators count alike: executed instructions, banks of shared memory, sectors."""
