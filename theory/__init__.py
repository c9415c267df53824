"""What is true: acceptance, exact laws, distances, searches, claims."""
