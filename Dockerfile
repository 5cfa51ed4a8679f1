# schemactl as an image:
#   docker build --target core --tag schemactl .          # no Spark; destinations of databases
#   docker build --target spark --tag schemactl:spark .   # all: reads data as well
#   docker run --rm --volume "$PWD:/work" schemactl diff
# The base image is named by its digest; `docker buildx imagetools inspect python:3.13-slim` prints the one of today.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY .ci/metadata.py .ci/readme.py .ci/
COPY schemactl schemactl
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS base
# A user of its own; with `--user "$(id -u):$(id -g)"` files that it writes into a mounted folder are yours.
RUN useradd --create-home --uid 1000 schemactl && chmod 1777 /home/schemactl
ENV HOME=/home/schemactl PYTHONDONTWRITEBYTECODE=1
WORKDIR /work

FROM base AS spark
# The wheel says which versions it takes.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    set -- /wheels/*.whl && pip install --no-cache-dir "$1[spark,duckdb,postgres,mysql,parquet,delta,iceberg,model]"
USER 1000
ENTRYPOINT ["schemactl"]
CMD ["--help"]

FROM base AS core
# The wheel says which versions it takes.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    set -- /wheels/*.whl && pip install --no-cache-dir "$1[duckdb,postgres,mysql]"
USER 1000
ENTRYPOINT ["schemactl"]
CMD ["--help"]
