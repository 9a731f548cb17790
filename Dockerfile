# A broker with everything it may need: the embedded server, Parquet, traces.  docs/howto/container.md says how to run it.
#
#   docker build -t redis-ledger .
#
# Pin the base where it matters to you: --build-arg PYTHON_IMAGE=docker.io/library/python@sha256:...
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim-bookworm

# -- what is installed, made where pip is; no step compiles anything -------------------------------------------------
FROM ${PYTHON_IMAGE} AS build
ENV PYTHONDONTWRITEBYTECODE=1 PIP_CACHE_DIR=/var/cache/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

RUN python -m venv /build && python -m venv --without-pip /opt/redis-ledger

COPY requirements/build.lock requirements/image.lock requirements/
RUN --mount=type=cache,target=/var/cache/pip \
    /build/bin/pip install --quiet --no-deps --require-hashes --only-binary :all: -r requirements/build.lock
RUN --mount=type=cache,target=/var/cache/pip \
    /build/bin/pip --python /opt/redis-ledger/bin/python install --quiet --no-compile --no-deps --require-hashes \
    --only-binary :all: -r requirements/image.lock

COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY app app
COPY redis_ledger redis_ledger
COPY lua lua
COPY proto proto
RUN /build/bin/pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir /dist . \
 && /build/bin/pip --python /opt/redis-ledger/bin/python install --quiet --no-compile --no-deps --no-index /dist/*.whl

# The root is read-only when it runs, so what Python would compile at every start is compiled here.  Unchecked: no file
# is newer than its code, and a layer may change times.
RUN python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/redis-ledger/lib

# -- what runs --------------------------------------------------------------------------------------------------------
FROM ${PYTHON_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="redis-ledger" \
      org.opencontainers.image.description="A Kafka-compatible transactional event log on Redis" \
      org.opencontainers.image.licenses="MIT AND Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# Python's image comes without the compiled standard library.  The user owns nothing but /data.
RUN python -m compileall -q -j 0 --invalidation-mode unchecked-hash \
    -x '/(test|tests|site-packages|idlelib|lib2to3|ensurepip|turtledemo)/' \
    "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
 && echo "ledger:x:10001:10001::/nonexistent:/usr/sbin/nologin" >> /etc/passwd \
 && echo "ledger:x:10001:" >> /etc/group \
 && install -d -o 10001 -g 10001 -m 0700 /data \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

COPY --from=build /opt/redis-ledger /opt/redis-ledger

# Who calls has to say who it is: an open broker is asked for by name, see docs/howto/container.md.
ENV PATH=/opt/redis-ledger/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    REDIS_LEDGER_DATA_DIR=/data/redis-ledger \
    REDIS_LEDGER_HTTP=0.0.0.0:8080 \
    REDIS_LEDGER_KAFKA=0.0.0.0:9092 \
    REDIS_LEDGER_AUTH_REQUIRED=true

USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8080 9092
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["redis-ledger", "health"]
ENTRYPOINT ["redis-ledger"]
CMD ["serve"]
