"""The conditions of the recovery theorems, computed: what weights, components, a start or a noise level are worth.

The theorems are those of AND (Li & Liang 2017), of Purification (Li, Liang & Risteski 2016) and of the Dominant NMF
model (Bhattacharyya, Goyal, Kannan & Pani 2016). Rows are samples here: the papers' A or B is ``H.T``, their x a row
of ``W``, and AND's D, Purification's n, Dominant NMF's k the number of components. Absolute constants that the papers
do not give are left out: a ratio to such a bound is to be compared between data sets, not to one. All results are
a `table.ConditionTable`.
"""
