"""Recurrent layers: all steps of a layer in one native call, of eager loops and of programs.

`products` has the product of a step, `cells` the code of a layer's steps, `bind` the programs' step that calls it; eager calls come by
`lower/eager/recurrent.py`.
"""
