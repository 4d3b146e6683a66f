exec 7< <(printf 'bearerbearerbearer')
exec setpriv --no-new-privs /work/review/bin/host serve --settings /tmp/rv/set.json --state-dir /tmp/rv/st3 --bearer-fd 7
