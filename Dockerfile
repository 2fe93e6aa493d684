# safegen_ros with its simulator and operator console: no GPU, no system ROS.
#   docker build -t safegen_ros . && docker run --rm --network host safegen_ros
# scripts/try_dockerfile.sh takes the same steps in a clean Debian root.
FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       ca-certificates cmake g++ gcc git libegl1 libgl1-mesa-dri libopengl0 make \
       python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 safegen
WORKDIR /home/safegen/safegen_ros
COPY --chown=safegen:safegen . .
USER safegen
RUN make setup && rm -rf .cache/uv
ENV PATH="/home/safegen/safegen_ros/.venv/bin:$PATH"
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765', timeout=4)"]
CMD ["safegen", "up", "sim", "console:=true"]
