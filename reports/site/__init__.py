"""What a site is: all pages drawn together, figures as files, templates and numbers as HTML."""
