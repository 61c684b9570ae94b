import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { build, type InlineConfig, type Rolldown } from 'vite'

/** Built files by their path. */
export type BuiltFiles = ReadonlyMap<string, string | Uint8Array>

/** Set on the global object of a page or worker when the block has run to its end. */
export const ENDED = 'hasEnded'

const HTML = `<!doctype html>
<link rel="icon" href="data:,">
<div id="root"></div>
<script type="module" src="/main.tsx"></script>
`
const RUN = `globalThis.${ENDED} = true\n`

/** Builds the block as a page, with Vite as in its template for React. */
export async function bundlePage(directory: string, file: string): Promise<BuiltFiles> {
  const hasRoot = /^export default /m.test(await readFile(join(directory, file), 'utf8'))
  await writeFile(join(directory, 'index.html'), HTML)
  await writeFile(join(directory, 'main.tsx'), (hasRoot ? rendering(file) : `import './${file}'\n`) + RUN)
  return filesOf({ root: directory, build: { modulePreload: false } })
}

/** Builds the block as the service worker of an extension, `worker.js`. */
export async function bundleWorker(directory: string, file: string): Promise<BuiltFiles> {
  await writeFile(join(directory, 'main.tsx'), `import './${file}'\n${RUN}`)
  const rolldownOptions = { input: 'main.tsx', output: { entryFileNames: 'worker.js', codeSplitting: false } }
  return filesOf({ root: directory, build: { modulePreload: false, rolldownOptions } })
}

function rendering(file: string): string {
  return `
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import App from './${file}'

createRoot(document.getElementById('root')!).render(<StrictMode><App /></StrictMode>)
`
}

async function filesOf(config: InlineConfig): Promise<BuiltFiles> {
  const built = await build({
    ...{ configFile: false, logLevel: 'silent', plugins: [react()] },
    ...config,
    build: { ...config.build, write: false },
  })
  const { output } = built as Rolldown.RolldownOutput
  return new Map(output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]))
}
