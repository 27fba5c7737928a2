"""Outliers: labels that are probably wrong, found by model evidence.

prior             a wide prior of wrong labels
inclusion         labels included and excluded one by one, by evidence
slips_and_swaps   slipped decimal points, and pairs of labels that were swapped
decision          which labels are wrong
new_labels        the same for labels that came after that decision
"""
