# What a developer runs, in an environment with '.[dev,docs]'; .ci/run is what must hold before a change lands.

# a worker for each core: just test -n 0 tests/linalg for a debugger
test *arguments:
    pytest {{arguments}}

lint:
    ruff check --fix .
    ruff format .
    lint-imports

types:
    mypy

docs:
    MPLBACKEND=agg sphinx-build -W --keep-going -q -d site/.doctrees docs site
    @echo "site/index.html"

# just bench nnls --size small; without a case, their names
bench *arguments="list":
    python -m benchmarks {{arguments}}
