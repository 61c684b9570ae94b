import { defineConfig } from 'vite'
import { throughHoldfast } from '../holdfast-proxy.ts'

export default defineConfig({
  root: import.meta.dirname,
  // The component has its template as text, so Vue's compiler runs in the page. A project with `.vue` files needs
  // none of this.
  resolve: { alias: { vue: 'vue/dist/vue.esm-bundler.js' } },
  define: {
    __VUE_OPTIONS_API__: 'true',
    __VUE_PROD_DEVTOOLS__: 'false',
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
  },
  server: { port: 4332, proxy: throughHoldfast },
})
