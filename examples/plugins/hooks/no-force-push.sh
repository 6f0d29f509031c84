#!/bin/sh
# A shell hook for `pre_tool_call`: the agent never pushes with force. In config.yaml:
#
#   hooks:
#     pre_tool_call:
#       - command: ~/hooks/no-force-push.sh
#         matcher: terminal
#
# What happens is told as JSON on standard input; a verdict is JSON on standard output, and silence is a yes.
case $(cat) in
*'git push'*'--force'* | *'git push -f'*) echo '{"action":"block","message":"No force pushes. Make a new commit."}' ;;
esac
