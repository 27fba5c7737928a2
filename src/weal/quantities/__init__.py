"""Quantities: how labels are read, checked, judged, shown, drawn and given to a model.

`protocol` is the seam; `number`, `pass_fail`, `classes` and `grades` are its kinds, and `words` is
what the last three share; `kinds` makes quantities from columns and JSON, `declarations` from
`--type` texts and values.
"""
