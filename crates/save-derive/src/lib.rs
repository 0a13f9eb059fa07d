//! The derives `Save` and `Value` of `xoff_units::save`: one list of fields, that of the type, for writing and for reading.
//!
//! ```text
//!   #[save(built)]        not written: it comes with the world that the state is restored into, or is a cache
//!   #[save(each)]         a list whose elements are there already: each is restored in its place
//!   #[save(by = module)]  module::save(&field, writer) and module::restore(&mut field, reader)
//!   #[save(refused)]      on a variant: a state from outside that nothing can write
//! ```

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Fields, Ident, Path, Variant, parse_macro_input};

/// Way in which a field is saved.
enum How {
    Whole,
    Built,
    Each,
    By(Path),
}

/// Request of an attribute; `refused` of a variant is [`How::Built`] to its fields.
fn how(attributes: &[Attribute]) -> syn::Result<(How, bool)> {
    let (mut how, mut refused) = (How::Whole, false);
    for a in attributes.iter().filter(|a| a.path().is_ident("save")) {
        a.parse_nested_meta(|m| {
            if m.path.is_ident("built") {
                how = How::Built;
            } else if m.path.is_ident("each") {
                how = How::Each;
            } else if m.path.is_ident("by") {
                how = How::By(m.value()?.parse()?);
            } else if m.path.is_ident("refused") {
                refused = true;
            } else {
                return Err(m.error("expected built, each, by = module or refused"));
            }
            Ok(())
        })?;
    }
    Ok((how, refused))
}

/// The fields of a struct or variant: a name to bind each to, a pattern, and how each is saved.
struct Parts {
    names: Vec<Ident>,
    pattern: Tokens,
    hows: Vec<How>,
}

fn parts(fields: &Fields) -> syn::Result<Parts> {
    let names: Vec<Ident> = (0..fields.len()).map(|n| format_ident!("field_{n}")).collect();
    let hows = fields.iter().map(|f| Ok(how(&f.attrs)?.0)).collect::<syn::Result<Vec<_>>>()?;
    let pattern = match fields {
        Fields::Unit => quote!(),
        Fields::Unnamed(_) => quote!((#(#names),*)),
        Fields::Named(named) => {
            let own = named.named.iter().map(|f| &f.ident);
            quote!({ #(#own: #names),* })
        }
    };
    Ok(Parts { names, pattern, hows })
}

impl Parts {
    fn save(&self) -> Tokens {
        let each = self.names.iter().zip(&self.hows).map(|(name, how)| match how {
            How::Whole => quote!(::xoff_units::save::Save::save(#name, to);),
            How::Built => quote!(let _ = #name;),
            How::Each => quote!(::xoff_units::save::save_each(#name.iter(), to);),
            How::By(module) => quote!(#module::save(#name, to);),
        });
        quote!(#(#each)*)
    }

    fn restore(&self) -> Tokens {
        let each = self.names.iter().zip(&self.hows).map(|(name, how)| match how {
            How::Whole => quote!(::xoff_units::save::Save::restore(#name, from)?;),
            How::Built => quote!(let _ = #name;),
            How::Each => quote!({
                let there = #name.iter().count();
                ::xoff_units::save::restore_each(there, #name.iter_mut(), from)?;
            }),
            How::By(module) => quote!(#module::restore(#name, from)?;),
        });
        quote!(#(#each)*)
    }
}

/// A state that is restored in its place: what is built with it stays.
#[proc_macro_derive(Save, attributes(save))]
pub fn derive_save(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    save(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn save(input: &DeriveInput) -> syn::Result<Tokens> {
    let (name, (generics, of, bounds)) = (&input.ident, input.generics.split_for_impl());
    let (save, restore) = match &input.data {
        Data::Struct(s) => {
            let p = parts(&s.fields)?;
            let (pattern, save, restore) = (&p.pattern, p.save(), p.restore());
            (quote!(let #name #pattern = self; #save), quote!(let #name #pattern = self; #restore))
        }
        Data::Enum(e) => {
            let arms = e.variants.iter().zip(0u8..).map(|(v, n)| variant(name, v, n)).collect::<syn::Result<Vec<_>>>()?;
            let (saves, restores): (Vec<_>, Vec<_>) = arms.into_iter().unzip();
            let wrong = format!("another kind of {name}");
            (
                quote!(match self { #(#saves)* }),
                quote!({
                    let variant = from.byte()?;
                    match self { #(#restores)* #[allow(unreachable_patterns)] _ => return Err(::xoff_units::save::Broken(#wrong)) }
                }),
            )
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "a union has no fields of its own")),
    };
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::xoff_units::save::Save for #name #of #bounds {
            fn save(&self, to: &mut ::xoff_units::save::Writer) { #save }
            fn restore(&mut self, from: &mut ::xoff_units::save::Reader) -> Result<(), ::xoff_units::save::Broken> {
                #restore
                Ok(())
            }
        }
    })
}

/// The arms of a variant that is saved and restored in its place.
fn variant(name: &Ident, v: &Variant, number: u8) -> syn::Result<(Tokens, Tokens)> {
    let own = &v.ident;
    if how(&v.attrs)?.1 {
        let what = format!("{name}::{own}");
        return Ok((quote!(#name::#own { .. } => to.refuse(#what),), quote!()));
    }
    let p = parts(&v.fields)?;
    let (pattern, save, restore) = (&p.pattern, p.save(), p.restore());
    Ok((quote!(#name::#own #pattern => { to.byte(#number); #save }), quote!(#name::#own #pattern if variant == #number => { #restore })))
}

/// A value that is created from its saved form, all of it.
#[proc_macro_derive(Value)]
pub fn derive_value(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    value(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn value(input: &DeriveInput) -> syn::Result<Tokens> {
    let name = &input.ident;
    let read_all = |names: &[Ident]| quote!(#(let #names = ::xoff_units::save::Value::read(from)?;)*);
    let write_all = |names: &[Ident]| quote!(#(::xoff_units::save::Value::write(#names, to);)*);
    let (write, read) = match &input.data {
        Data::Struct(s) => {
            let Parts { names, pattern, .. } = parts(&s.fields)?;
            let (write, read) = (write_all(&names), read_all(&names));
            (quote!(let #name #pattern = self; #write), quote!(#read Ok(#name #pattern)))
        }
        Data::Enum(e) => {
            let mut arms = Vec::new();
            for (v, number) in e.variants.iter().zip(0u8..) {
                let (own, Parts { names, pattern, .. }) = (&v.ident, parts(&v.fields)?);
                let (write, read) = (write_all(&names), read_all(&names));
                arms.push((
                    quote!(#name::#own #pattern => { to.byte(#number); #write }),
                    quote!(#number => { #read Ok(#name::#own #pattern) }),
                ));
            }
            let (writes, reads): (Vec<_>, Vec<_>) = arms.into_iter().unzip();
            let wrong = format!("no {name} has this number");
            (quote!(match self { #(#writes)* }), quote!(match from.byte()? { #(#reads)* _ => Err(::xoff_units::save::Broken(#wrong)) }))
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "a union has no fields of its own")),
    };
    Ok(quote! {
        #[automatically_derived]
        impl ::xoff_units::save::Value for #name {
            fn write(&self, to: &mut ::xoff_units::save::Writer) { #write }
            fn read(from: &mut ::xoff_units::save::Reader) -> Result<Self, ::xoff_units::save::Broken> { #read }
        }
        ::xoff_units::save::whole!(#name);
    })
}
