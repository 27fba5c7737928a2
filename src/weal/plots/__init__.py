"""Figures of learners and campaigns, drawn with matplotlib.

canvas           sizes, colours, ticks, legends, and figures as files
learner_figures  learning curve of errors, predicted against measured, experts, importance of inputs
effect_figures   partial dependence on one input, and on two
axes             `learner.plot` and `campaign.plot`: one method for each figure
goal_figures     learning curves of goals with a set, and the front of two objectives
"""
