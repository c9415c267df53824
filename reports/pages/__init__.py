"""One module for each page: its content, assembled from saved results."""
