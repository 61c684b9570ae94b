import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  server: { port: 4330 },
  build: {
    target: 'es2023',
    // Older ones lack light-dark(), and its replacement does not follow the theme of the system.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
})
