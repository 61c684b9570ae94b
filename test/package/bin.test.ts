import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manifest } from './manifest.ts'
import { type Packed, pack, run } from './packed.ts'

describe('the command line of the package', () => {
  let packed: Packed
  let main: string
  beforeAll(async () => {
    packed = await pack()
    main = join(packed.consumer, 'node_modules/holdfast', manifest.bin.holdfast)
  })
  afterAll(async () => packed[Symbol.asyncDispose]())

  it('the command line of the package is a program that Node runs', async () => {
    expect(readFileSync(main, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(await run(packed.consumer, 'node', main, '--version')).toMatch(/^\d+\.\d+\.\d+/)
  })

  it('the command line of the package holds a lease without any other package', async () => {
    const command = ['run', 'job', '--', 'sh', '-c', 'echo $HOLDFAST_RESOURCE']
    expect(await run(packed.consumer, 'node', main, ...command)).toBe('job')
  })

  it.each([
    ['redis://localhost', 'npm install ioredis (or redis)'],
    ['postgres://localhost', 'npm install pg (or postgres)'],
    ['nats://localhost', 'npm install @nats-io/transport-node @nats-io/kv'],
  ])('the command line of the package names the package that %s needs', async (store, advice) => {
    await expect(run(packed.consumer, 'node', main, 'ls', '--store', store)).rejects.toThrow(advice)
  })
})
