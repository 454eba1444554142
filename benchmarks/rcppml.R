# Rscript rcppml.R folder rows columns k iterations threads seed
# Reads a CSC matrix from raw files, factorizes it, writes the factors and the seconds that nmf() took.
args <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages({library(Matrix); library(RcppML)})
at <- function(name) file.path(args[1], name)
whole <- function(name) readBin(at(name), "integer", file.size(at(name)) / 4, size = 4)
n <- as.integer(args[2:7])
A <- new("dgCMatrix", i = whole("i.bin"), p = whole("p.bin"), Dim = n[1:2],
         x = readBin(at("x.bin"), "double", file.size(at("x.bin")) / 8))
setRcppMLthreads(n[5])
invisible(nmf(A[, 1:min(100, n[2])], 2, tol = 1e-300, maxit = 2, verbose = FALSE, seed = n[6]))
seconds <- system.time(fit <- nmf(A, n[3], tol = 1e-300, maxit = n[4], verbose = FALSE, seed = n[6]))[["elapsed"]]
writeBin(as.vector(fit$w), at("w.bin"))
writeBin(as.vector(fit$d), at("d.bin"))
writeBin(as.vector(fit$h), at("h.bin"))
cat(seconds, as.character(packageVersion("RcppML")), fit$iter, "\n")
