"""Presentation shared by all diagnoses: tables, figures, the page, the terminal."""
