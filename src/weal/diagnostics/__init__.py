"""What can be said of a model and its labels, in the user's units; pure functions of frozen values.

    leave_one_out      each label predicted from the others
    trend              three error estimates, and their course as labels came
    stopping           what the last labels changed, labels that a goal needs, advice
    random_choice      what choosing at random would likely have given
    input_importance   which inputs matter, and how near rows are by that
    explain            why a candidate was asked: what was expected, what is known nearby
    coverage           labels in their intervals
    wording            numbers and reasons in words

None of them changes anything, or knows of campaigns and stores.
"""
