import { describe, expect, it } from 'vitest'
import { blocksOf, programOf } from './blocks.ts'

const page = (...lines: string[]) => blocksOf('docs/page.md', lines.join('\n'))

describe('the blocks of a page', () => {
  it('a block has the line of its info string, its language and how it is run', () => {
    const blocks = page('# Title', '```ts', 'a', '```', '', '```tsx page', 'b', '```', '```sh', 'c', '```')
    expect(blocks).toMatchObject([
      { line: 2, language: 'ts', role: 'program', code: 'a\n' },
      { line: 6, language: 'tsx', role: 'page', code: 'b\n' },
      { line: 9, language: 'sh', role: 'program', code: 'c\n' },
    ])
  })

  it('the blocks of a page may name a file and say why they are not run', () => {
    const [block] = page('```js serve file: src/a.mjs no-run: needs Google Cloud', 'a', '```')
    expect(block).toMatchObject({ role: 'serve', file: 'src/a.mjs', noRun: 'needs Google Cloud' })
    expect(page('```sh no-run: needs root', '```')).toMatchObject([{ role: 'program', noRun: 'needs root' }])
  })

  it('find the files of earlier blocks, whatever their language', () => {
    const blocks = page(
      '```toml file: a.toml',
      'x = 1',
      '```',
      '```ts file: b.ts',
      'b',
      '```',
      '```sh',
      '```',
    )
    expect(blocks.map(({ files }) => Object.fromEntries(files))).toEqual([
      { 'a.toml': 'x = 1\n' },
      { 'a.toml': 'x = 1\n', 'b.ts': 'b\n' },
    ])
  })

  it('a block that calls a server of its page runs beside the last one before it', () => {
    const serve = (port: number) => ['```js serve', `createServer({ port: ${port} })`, '```']
    const call = ['```sh', 'curl http://localhost:4321/healthz', '```']
    const blocks = page(
      ...call,
      ...serve(1),
      ...serve(2),
      '```js serve',
      'lead()',
      '```',
      ...call,
      '```js',
      '```',
    )
    expect(blocks.map(({ server }) => server?.code)).toEqual([
      ...[undefined, undefined, undefined, undefined, 'createServer({ port: 2 })\n', undefined],
    ])
  })

  it('the blocks of a page lose the indentation that they have in a list', () => {
    expect(page('- item', '  ```ts', '  if (a)', '    b', '', '  ```')).toMatchObject([
      { line: 2, code: 'if (a)\n  b\n\n' },
    ])
  })

  it('blocks that nothing can run are left out', () => {
    expect(page('```', 'output', '```', '```sql', 'select 1', '```')).toEqual([])
  })

  it.each(['ts run', 'ts serve page', 'typescript', 'bash', 'json serve', 'ts file:', 'ts no-run:'])(
    'a block with the unknown words `%s` is refused by page and line',
    (info) => {
      expect(() => page('# Title', '', `\`\`\`${info}`, '```')).toThrow(
        `docs/page.md:3: unknown words after \`\`\`: ${info}`,
      )
    },
  )

  it('a block without an end is refused', () => {
    expect(() => page('Text.', '```ts', 'a')).toThrow('docs/page.md:2: the block does not end')
  })

  describe('with a preamble', () => {
    const SHOWN = ['```ts', '  const a = 1', 'const b = 2', '```']

    it('a block runs after its preamble, with each line at its line of the page', () => {
      const [, block] = page(...SHOWN, '<!-- preamble', 'const a = 1', '-->', '```ts', 'a + 1', '```')
      expect(block).toMatchObject({ line: 8, preamble: 'const a = 1\n', code: 'a + 1\n' })
      expect(block && programOf(block).split('\n').slice(6)).toEqual(['', 'const a = 1', 'a + 1', ''])
    })

    it('the blocks of a page with a preamble repeat the last one with `same`', () => {
      const preamble = ['<!-- preamble', 'const b = 2', '-->']
      const same = ['<!-- preamble: same -->', '```ts', 'c', '```']
      const blocks = page(...SHOWN, ...preamble, '```ts', 'b', '```', '```ts', 'd', '```', ...same)
      expect(blocks.map(({ preamble }) => preamble)).toEqual(['', 'const b = 2\n', '', 'const b = 2\n'])
      expect(blocks.at(-1)?.line).toBe(15)
    })

    it('the blocks of a page with a preamble are refused if the page has not shown one of its lines', () => {
      const later = ['```ts', 'const c = 3', '```']
      expect(() => page(...SHOWN, '<!-- preamble', 'const c = 3', '-->', ...later)).toThrow(
        'docs/page.md:8: the page has not shown this line of the preamble: const c = 3',
      )
    })

    it('the blocks of a page with a preamble that stands elsewhere are refused', () => {
      expect(() => page(...SHOWN, '<!-- preamble', 'const b = 2', '-->', '', 'Text.', ...SHOWN)).toThrow(
        'docs/page.md:5: a preamble must stand directly before its block',
      )
    })
  })
})
