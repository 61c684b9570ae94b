import { resolve } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const page = (name: string) => resolve(import.meta.dirname, name)

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // The pages may be served below any path.
  base: './',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2023',
    // Older ones lack light-dark(), and its replacement does not follow a theme that a person has chosen.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The pages allow scripts and styles of their own origin only, and no data: addresses.
    assetsInlineLimit: 0,
    // CodeMirror with Markdown and the languages in it.
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: [page('index.html'), page('dashboard.html')] },
  },
})
