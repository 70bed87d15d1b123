"""What a person sees: figures, tables, the terminal's table and the page."""

from einstellung.report.confounding_writing import write_confounding_report
from einstellung.report.guide import write_guide_report
from einstellung.report.shortcuts_writing import write_shortcut_report
from einstellung.report.terminal import render_terminal
from einstellung.report.writing import write_report

__all__ = ["render_terminal", "write_confounding_report", "write_guide_report", "write_report", "write_shortcut_report"]
