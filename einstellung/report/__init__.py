"""What a person sees, whatever the diagnosis: tables, figures, the page, the terminal."""
