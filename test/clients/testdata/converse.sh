# Has `codex app-server` answer the line on standard input, and prints all that it says: `codex exec` prints answers as a whole.
read -r task
coproc codex { codex app-server "$@"; }
say() { printf '%s\n' "$1" >&"${codex[1]}"; }

say '{"id":1,"method":"initialize","params":{"clientInfo":{"name":"torno-test","version":"1"}}}'
say '{"method":"initialized"}'
say '{"id":2,"method":"thread/start","params":{"approvalPolicy":"never","sandbox":"danger-full-access"}}'
while read -r line <&"${codex[0]}"; do
	printf '%s\n' "$line"
	case $line in
	'{"id":2,'*)
		thread=${line#*'"thread":{"id":"'}
		say '{"id":3,"method":"turn/start","params":{"threadId":"'"${thread%%\"*}"'","input":[{"type":"text","text":"'"$task"'"}]}}'
		;;
	*'"method":"turn/completed"'*'"status":"completed"'*) exit 0 ;;
	*'"method":"turn/completed"'*) exit 1 ;;
	esac
done
exit 2
