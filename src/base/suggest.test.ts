import { describe, expect, it } from 'vitest'
import { nearest } from './suggest.ts'

const OPTIONS = ['owner', 'ttl', 'heartbeat', 'wait', 'retry', 'callTimeout', 'clock', 'onEvent']
const COMMANDS = [
  'run',
  'ls',
  'inspect',
  'watch',
  'release',
  'doctor',
  'bench',
  'serve',
  'monitor',
  'completion',
]

describe('the nearest name', () => {
  it.each([
    ['tll', OPTIONS, 'ttl'],
    ['ttlMs', OPTIONS, 'ttl'],
    ['TTL', OPTIONS, undefined],
    ['hearbeat', OPTIONS, 'heartbeat'],
    ['heartBeat', OPTIONS, 'heartbeat'],
    ['waits', OPTIONS, 'wait'],
    ['retries', OPTIONS, 'retry'],
    ['onevent', OPTIONS, 'onEvent'],
    ['rnu', COMMANDS, 'run'],
    ['lst', COMMANDS, 'ls'],
    ['sever', COMMANDS, 'serve'],
    ['relase', COMMANDS, 'release'],
  ])('of %s is found', (name, known, near) => {
    expect(nearest(name, known)).toBe(near)
  })

  it.each(['timeout', 'namespace', 'x', ''])('of %j is none', (name) => {
    expect(nearest(name, OPTIONS)).toBeUndefined()
  })
})
