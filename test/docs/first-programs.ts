/**
 * The twelve programs that people write first, as a new user wrote them from README.md and docs alone. Each is compiled and run
 * with the packed package. If a change of the API makes one of them fail, it makes the first guess of somebody fail.
 */
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Page, Response } from 'playwright-core'
import { expect } from 'vitest'
import type { Block, Language, Role } from './blocks.ts'

export interface FirstProgram {
  /** In test/docs/first-programs. */
  readonly file: string
  readonly role?: Role
  /** All that it prints. Not for pages of React, which prints an advertisement. */
  readonly prints?: readonly string[]
  /** Of a page: what else is seen. */
  look?(page: Page): Promise<void>
}

export const FIRST_PROGRAMS: readonly FirstProgram[] = [
  { file: 'mutex.ts', prints: ['20', "true { user: 'Mika' }", 'held by Mika'] },
  { file: 'semaphore.ts', prints: ['1 4 9 16 25 36 49 64 81', 'at most 3', '0 holders'] },
  { file: 'readers-writer.ts', prints: ['1 1 1 true 2'] },
  { file: 'leader.ts', prints: ['a leads', 'stopped', 'stopped'] },
  { file: 'cron.ts', prints: ['report made', 'made already'] },
  { file: 'sql-guard.ts', prints: ['stale-token', 'invalid-argument', '34'] },
  { file: 'run-once.ts', prints: ['made 12 pages', 'already_finished: {"pages":12}', 'READY 1'] },
  { file: 'server.ts', prints: ['false Mika', 'true Hello'] },
  {
    file: 'react-editor.tsx',
    role: 'page',
    async look(page) {
      await page.getByText('You are editing').waitFor()
      const save = (response: Response) =>
        response.request().method() === 'PUT' && response.url().endsWith('/minutes-42')
      const saved = page.waitForResponse(save)
      await page.getByLabel('Minutes').fill('Hello')
      await saved
      await page.getByText('Saved').waitFor()
      await page.reload()
      await expect.poll(() => page.getByLabel('Minutes').inputValue()).toBe('Hello')
    },
  },
  { file: 'autosave.ts', role: 'page', prints: ['idle', 'The crossing'] },
  { file: 'popup.ts', role: 'page', prints: ['true dark dark', 'milk Milk'] },
  { file: 'fake-clock.ts', role: 'test' },
]

export function blockOf({ file, role = 'program' }: FirstProgram): Block {
  return {
    ...{ page: `first-programs/${file}`, line: 1, language: extname(file).slice(1) as Language, role },
    ...{ preamble: '', code: readFileSync(join(import.meta.dirname, 'first-programs', file), 'utf8') },
    files: new Map(),
  }
}
