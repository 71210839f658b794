# syntax=docker/dockerfile:1
# A static program in an image that holds nothing else: no shell, no libraries, no root.
FROM golang:1.26.8-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/sluice ./cmd/sluice \
    && mkdir -p /out/data && cp /etc/ssl/certs/ca-certificates.crt /out/

FROM scratch
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="A virtual waiting room" \
      org.opencontainers.image.source="https://github.com/sluicehq/sluice" \
      org.opencontainers.image.documentation="https://github.com/sluicehq/sluice/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/sluice /sluice
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
VOLUME /data
ENV SLUICE_DATA_DIR=/data SLUICE_ADMIN_LISTEN=:8081 SLUICE_OPS_LISTEN=:9090 SLUICE_LOG_FORMAT=json
EXPOSE 8080 8081 9090
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s CMD ["/sluice", "health"]
ENTRYPOINT ["/sluice"]
CMD ["serve"]
