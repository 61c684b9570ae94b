/**
 * Process 1 of a container becomes the parent of every orphan, and must reap it. Node waits only for processes that it
 * started itself, so orphans would stay as zombies until no process can be started any more. So as process 1, `run`
 * replaces itself by a small shell script, which starts `run` again, forwards signals and reaps everything.
 */
import { existsSync } from 'node:fs'

const SHELL = '/bin/sh'

/** `wait` of a shell reaps every child, also those that it does not know. A signal interrupts it. */
const SCRIPT = `
child=
early=
forward() {
  if [ -n "$child" ]; then kill -"$1" "$child" 2> /dev/null; else early="$early $1"; fi
}
for name in HUP INT QUIT TERM USR1 USR2 WINCH CONT; do trap "forward $name" "$name"; done
# A command in the background has no standard input, unless it is given one.
exec 3<&0
"$@" <&3 3<&- &
child=$!
exec 3<&-
for name in $early; do forward "$name"; done
# A terminal sends these to the child too.
if [ -t 0 ]; then trap '' INT QUIT WINCH TSTP; fi
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2> /dev/null || break
done
wait "$child" 2> /dev/null
last=$?
if [ "$last" -ne 127 ]; then code=$last; fi
exit "$code"`

/** Returns only if this is not process 1, or with the reason why it cannot be replaced. */
export function reapOrphans(): string | null {
  if (process.pid !== 1) return null
  if (!process.execve || !existsSync(SHELL))
    return 'as process 1, run cannot reap orphans here: start the container with an init, such as docker run --init'
  const { execPath, execArgv, argv } = process
  return process.execve(SHELL, ['sh', '-c', SCRIPT, 'holdfast', execPath, ...execArgv, ...argv.slice(1)])
}
