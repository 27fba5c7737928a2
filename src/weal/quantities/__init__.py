"""Quantities: how labels are read, checked, judged, shown, drawn and given to a model.

`protocol` is the seam, `number` its first kind; `kinds` makes quantities from columns and JSON.
"""
