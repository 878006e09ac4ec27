# On the host: one directory is the door.
watcher run --dir ./outbox 2> watcher.log &
# The agent wants a child. Who is it, and which networks does it see?
subagent spawn --wait -- 'id -u; tail -n +3 /proc/net/dev | cut -d: -f1'
# One that wants more than it may.
subagent spawn --wait --context /etc -- 'cat /etc/shadow'
# One that works on a copy. What did it change?
subagent spawn --wait --copy project --id fix -- 'sed -i s/teh/the/ README'
subagent diff fix
subagent apply fix
watcher ps -a
