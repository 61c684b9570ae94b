import { defineConfig } from 'vite'

const page = {
  input: { popup: 'popup.html', worker: 'src/worker.ts' },
  output: { entryFileNames: '[name].js' },
}
/** A content script cannot be a module, so it is one file of its own. */
const content = { input: 'src/content.ts', output: { entryFileNames: 'content.js', format: 'iife' as const } }

export default defineConfig(({ mode }) => ({
  build: {
    target: 'chrome123',
    // The second build adds to the first one.
    emptyOutDir: mode !== 'content',
    copyPublicDir: mode !== 'content',
    modulePreload: false,
    rolldownOptions: mode === 'content' ? content : page,
  },
}))
