import { existsSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { build, type InlineConfig, type PreviewServer, preview } from 'vite'
import { root } from '../../scripts/run-tool.ts'
import { DOCUMENTS_PAGE, paste } from '../package/pasted.ts'

/** What the template of Vite for React has beside `src/App.tsx`. */
const PAGE = '<!doctype html><div id="root"></div><script type="module" src="/src/main.tsx"></script>'
const MAIN = `
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import App from './App.tsx'

createRoot(document.getElementById('root')!).render(<StrictMode><App /></StrictMode>)
`

/** Pastes the page of docs/start/documents.md into a project, and builds it with the built package. */
export async function buildPastedPage(project: string): Promise<InlineConfig> {
  if (!existsSync(join(root, 'dist'))) throw new Error('the package is not built: npm run build')
  await mkdir(join(project, 'node_modules'))
  await symlink(root, join(project, 'node_modules/holdfast'))
  for (const name of ['react', 'react-dom'])
    await symlink(join(root, 'node_modules', name), join(project, 'node_modules', name))
  await paste(project, DOCUMENTS_PAGE, 'src/App.tsx')
  await writeFile(join(project, 'index.html'), PAGE)
  await writeFile(join(project, 'src/main.tsx'), MAIN)
  const config: InlineConfig = { root: project, configFile: false, plugins: [react()], logLevel: 'warn' }
  await build(config)
  return config
}

/** Serves it; its address is mapped to this port. */
export async function servePastedPage(config: InlineConfig): Promise<{ pages: PreviewServer; port: number }> {
  const pages = await preview({ ...config, preview: { port: 0, host: '127.0.0.1', open: false } })
  return { pages, port: Number(new URL(pages.resolvedUrls?.local[0] ?? '').port) }
}
