"""Assembly of a site: all pages, figures as files, templates, numbers as HTML."""
