"""Reports on a bundle's program: a picture and an HTML page."""
