"""What a fit has found, in figures and as one page: works from equations and evidence alone."""
