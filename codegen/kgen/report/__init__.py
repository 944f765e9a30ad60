"""What a bundle's program is and does, as a picture and as a page."""
