import { describe, expect, it } from 'vitest'
import { misspelt, nearest } from './suggest.ts'

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

describe('a name that is misspelt by one letter', () => {
  const known = ['HOLDFAST_STORE', 'HOLDFAST_HOST', 'HOLDFAST_HOSTS', 'HOLDFAST_MAX_WAIT']

  it.each([
    ['HOLDFAST_STROE', 'HOLDFAST_STORE'],
    ['HOLDFAST_STOR', 'HOLDFAST_STORE'],
    ['HOLDFAST_STORES', 'HOLDFAST_STORE'],
    ['HOLDFAST_STARE', 'HOLDFAST_STORE'],
    ['HOLFDAST_STORE', 'HOLDFAST_STORE'],
    ['OLDFAST_STORE', 'HOLDFAST_STORE'],
    ['HOLDFAST_MAXWAIT', 'HOLDFAST_MAX_WAIT'],
    ['HOLDFAST_HOST', undefined],
    ['HOLDFAST_HOSTS', undefined],
    ['HOLDFAST_TEST_STORE', undefined],
    ['HOLDFAST_RESTO', undefined],
    ['HOLDFAST_', undefined],
    ['', undefined],
  ])('is recognised: %s', (name, meant) => {
    expect(misspelt(name, known)).toBe(meant)
  })
})
