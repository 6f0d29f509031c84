#!/bin/sh
# A plugin for Hermes in POSIX shell. A request of Hermes always begins with its number and its method, in this order:
#   {"jsonrpc":"2.0","id":7,"method":"tools/call",...
# so that a script needs no parser to answer it.

tool='{"name":"what_time_is_it","description":"The time and date of this machine.","read_only":true,"source":"machine"}'

while IFS= read -r line; do
    number=$(printf '%s\n' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
    case $line in
    *'"method":"initialize"'*) result="{\"tools\":[$tool]}" ;;
    *'"method":"tools/call"'*) result="\"It is $(date '+%H:%M on %A, %d %B %Y').\"" ;;
    *) result=null ;;
    esac
    [ -n "$number" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$number" "$result"
    case $line in
    *'"method":"shutdown"'*) exit 0 ;;
    esac
done
