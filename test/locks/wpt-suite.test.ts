import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { KNOWN_DIFFERENCES } from './known-differences.ts'
import { realmOn } from './web-locks.ts'
import { runSuite, scriptsIn } from './wpt-suite.ts'

/** A folder in the shape of a checkout of the web platform tests. */
let checkout: string
beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'holdfast-wpt-'))
  await mkdir(join(checkout, 'web-locks/resources'), { recursive: true })
  await write('resources/helpers.js', 'throw new Error("it is not a test")')
  await write(
    'own.https.any.js',
    `// META: script=resources/helpers.js
    'use strict'
    promise_test(async (t) => {
      const mode = await navigator.locks.request(uniqueName(t), (lock) => lock.mode)
      assert_equals(mode, 'exclusive')
    }, 'a request is granted')
    promise_test(async (t) => {
      assert_true(await navigator.locks.request(uniqueName(t), () => false), 'wrong')
    }, 'a test that fails')
    promise_test(async () => {
      await navigator.notHere.request()
    }, 'a test that fails in another way')
    promise_test(async () => {
      assert_of_the_future()
    }, 'a test with an assertion that we do not have')
    `,
  )
  await write('interfaces.https.any.js', 'idl_test(["web-locks"], ["html"], () => {})')
  await write('frames.https.html', '<!DOCTYPE html>')
})
afterEach(() => rm(checkout, { recursive: true }))

const write = (file: string, text: string) => writeFile(join(checkout, 'web-locks', file), text)
const openMemory = () => {
  const store = memoryStore()
  return realmOn(async () => store)
}

it('docs/locks.md lists the known differences', () => {
  const [, page = ''] = readFileSync(join(root, 'docs/locks.md'), 'utf8').split('## Web platform tests')
  const documented = [...page.matchAll(/^\| ([\w-]+: .+?) \|/gm)].map(([, name]) => name)
  const known = Object.values(KNOWN_DIFFERENCES).flatMap((differences) => Object.keys(differences))
  expect(new Set(documented)).toEqual(new Set(known))
})

describe('the runner of web platform tests', () => {
  it('the runner reports what passes, what fails, what is known to fail, and what it cannot run', async () => {
    const report = await runSuite(scriptsIn(checkout), openMemory, {
      'own: a test that fails in another way': 'there is nothing like it',
      'own: a request is granted': 'it was refused once',
    })
    expect(report).toEqual({
      passed: 1,
      failed: [expect.stringMatching(/^own: a test that fails: expected true, got false wrong/)],
      known: ['own: a test that fails in another way: there is nothing like it'],
      mended: ['own: a request is granted'],
      notRun: [
        'frames.https.html: needs a browser',
        'interfaces: idl_test is not defined',
        'own: a test with an assertion that we do not have: assert_of_the_future is not defined',
      ],
    })
  })

  it('the runner takes a checkout and its folder, and refuses a folder without tests', () => {
    expect(scriptsIn(join(checkout, 'web-locks'))).toEqual(scriptsIn(checkout))
    expect(() => scriptsIn(join(checkout, 'web-locks/resources'))).toThrow('expected web platform tests')
  })
})
