"""What is measured for the report, as data frames: by ``simlab verify``, by ``simlab run large``, and by hand."""
