#!/bin/sh
# Run a command in an environment that holds the same variables on every machine:
# scripts/clean-env.sh pytest
# Kept are PATH, HOME, LANG, CI and what downloads need: proxies, certificates, options of pip.
names="PATH HOME LANG CI SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE
    http_proxy https_proxy ftp_proxy all_proxy no_proxy
    HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
    $(env | sed -n 's/^\(PIP_[A-Z0-9_]*\)=.*/\1/p')"
for name in $names; do
    eval "value=\${$name-} given=\${$name+yes}"
    [ -z "$given" ] || set -- "$name=$value" "$@"
done
exec env -i "$@"
