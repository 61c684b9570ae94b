/** `run` as process 1, as in a container: a namespace of processes of its own. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MAIN, temporaryDirectory } from './holdfast.ts'

const NAMESPACE = ['--pid', '--fork', '--kill-child', '--mount-proc']
const mayUnshare = spawnSync('unshare', [...NAMESPACE, 'true']).status === 0

/** Starts `holdfast run` as process 1. */
function runAsProcessOne(script: string) {
  const store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
  const command = [process.execPath, MAIN, 'run', '--store', store, 'job', '--', 'sh', '-c', script]
  const started = spawn('unshare', [...NAMESPACE, ...command], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void started.kill('SIGKILL'))
  const ended = Promise.all([once(started, 'exit'), text(started.stdout)])
  return { started, ended: ended.then(([[code], stdout]) => ({ code, stdout })) }
}

// Creating a namespace needs the right to; without it there is nothing to test.
describe.runIf(mayUnshare)('run as process 1', () => {
  it('reaps orphans, and exits with the code of its command', async () => {
    const script = `
      orphan=$(sh -c 'sleep 0.1 > /dev/null & echo $!')
      tries=0
      while [ -e /proc/$orphan ] && [ $tries -lt 600 ]; do sleep 0.05; tries=$((tries + 1)); done
      [ -e /proc/$orphan ] && echo zombie || echo reaped
      exit 7`
    expect(await runAsProcessOne(script).ended).toEqual({ code: 7, stdout: 'reaped\n' })
  })

  it('passes its standard input and a SIGTERM on to the command', async () => {
    const { started, ended } = runAsProcessOne(`
      trap 'echo terminated; exit 3' TERM
      read line; echo "$line"
      while :; do sleep 0.05; done`)
    let heard = ''
    started.stdout.on('data', (chunk) => {
      heard += chunk
    })
    started.stdin.write('hello\n')
    await expect.poll(() => heard).toBe('hello\n')
    const [child] = childrenOf(started.pid ?? 0)
    process.kill(child ?? 0, 'SIGTERM')
    expect(await ended).toEqual({ code: 3, stdout: 'hello\nterminated\n' })
  })
})

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean).map(Number)
}
