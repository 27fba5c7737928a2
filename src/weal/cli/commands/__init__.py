"""One module for each group of commands; each is imported when one of its commands is needed.

new        new, add                             show      show, log, remove
ask        ask                                  serve     serve, completion
tell       tell, skip, withdraw                 doctor    doctor, backup
status     status, plot, export, settings       best      best
predict    predict                              bench     bench ..., simulate (bench_screen: output)
campaigns  list, copy, archive                  token     token ...
samples    samples ...                          mcp       mcp
"""
