"""Equations in other languages: one file per target."""
