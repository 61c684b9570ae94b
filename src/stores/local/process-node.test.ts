import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isGone, ownProcess } from './process-node.ts'

const own = ownProcess() ?? ''
const [place = '', , started = ''] = own.split('\n')
const recordOf = (pid: number | string, at = started, where = place) => `${where}\n${pid}\n${at}`

function startOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

describe('the record of a process', () => {
  it('the record of a process names host, boot, namespace, pid and start time', () => {
    expect(JSON.parse(place)).toEqual([
      expect.any(String),
      expect.stringMatching(/^[-0-9a-f]{36}$/),
      expect.stringMatching(/^pid:\[\d+\]$/),
    ])
    expect(own).toBe(recordOf(process.pid, startOf(process.pid)))
  })
})

describe('a process', () => {
  it('a process is not gone while it runs, stopped or not', async () => {
    const child = spawn('sleep', ['1000'])
    const pid = child.pid ?? 0
    child.kill('SIGSTOP')
    expect(isGone(recordOf(pid, startOf(pid)))).toBe(false)
    expect(isGone(own)).toBe(false)
    child.kill('SIGKILL')
    await once(child, 'exit')
  })

  it('a process is gone when it has ended', async () => {
    const child = spawn('sleep', ['1000'])
    const record = recordOf(child.pid ?? 0, startOf(child.pid ?? 0))
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(isGone(record)).toBe(true)
    expect(isGone(record)).toBe(true)
  })

  it('a process is gone when its pid belongs to another process', () => {
    expect(isGone(recordOf(process.ppid, '1'))).toBe(true)
  })

  it('a process is gone when it is a zombie', async () => {
    // The shell becomes a program that never asks for the end of its child.
    const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 1000'])
    const [pid] = await once(parent.stdout, 'data')
    const record = recordOf(Number(pid), startOf(Number(pid)))
    await expect.poll(() => isGone(record)).toBe(true)
    parent.kill('SIGKILL')
    await once(parent, 'exit')
  })

  it.each([
    ['another host', (text: string) => text.replace('["', '["other-')],
    ['another boot', (text: string) => text.replace(/"[-0-9a-f]{36}"/, '"0"')],
    ['another namespace of pids', (text: string) => text.replace('pid:[', 'pid:[9')],
    ['no place at all', () => ''],
  ])('a process of %s is never provably gone', (_, change) => {
    expect(isGone(recordOf(4_194_304, '1', change(place)))).toBe(false)
  })

  it.each([undefined, null, '', 'nonsense', recordOf('-1'), recordOf('0'), recordOf('1.5'), recordOf('')])(
    'a process with the record %j is never provably gone',
    (record) => expect(isGone(record)).toBe(false),
  )
})
