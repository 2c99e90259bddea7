"""Text and tables in LaTeX."""
