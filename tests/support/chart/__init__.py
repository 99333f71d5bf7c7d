"""Renders the chart and looks at what comes out."""
